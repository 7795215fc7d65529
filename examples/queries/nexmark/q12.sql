SELECT bidder, time_bucket(INTERVAL 10 SECOND, arrived) AS time, count(*) AS bids
FROM bid
GROUP BY ALL
