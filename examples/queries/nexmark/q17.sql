SELECT auction, dateTime::DATE::TIMESTAMP AS time, count(*) AS bids,
    count_if(price < 10000) AS bids1,
    count_if(price >= 10000 AND price < 1000000) AS bids2,
    count_if(price >= 1000000) AS bids3,
    min(price) AS least, max(price) AS most, avg(price) AS mean, sum(price)::BIGINT AS sum
FROM bid
GROUP BY ALL
