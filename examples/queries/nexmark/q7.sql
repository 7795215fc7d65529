SELECT auction, bidder, price, extra, dateTime AS "end"
FROM bid
QUALIFY price = max(price) OVER (PARTITION BY time_bucket(INTERVAL 10 SECOND, dateTime))
