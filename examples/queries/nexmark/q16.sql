SELECT channel, dateTime::DATE::TIMESTAMP AS time, max(strftime(dateTime, '%H%M'))::BIGINT AS minute,
    count(*) AS bids,
    count_if(price < 10000) AS bids1,
    count_if(price >= 10000 AND price < 1000000) AS bids2,
    count_if(price >= 1000000) AS bids3,
    count(DISTINCT bidder) AS bidders,
    count(DISTINCT bidder) FILTER (price < 10000) AS bidders1,
    count(DISTINCT bidder) FILTER (price >= 10000 AND price < 1000000) AS bidders2,
    count(DISTINCT bidder) FILTER (price >= 1000000) AS bidders3,
    count(DISTINCT auction) AS auctions,
    count(DISTINCT auction) FILTER (price < 10000) AS auctions1,
    count(DISTINCT auction) FILTER (price >= 10000 AND price < 1000000) AS auctions2,
    count(DISTINCT auction) FILTER (price >= 1000000) AS auctions3
FROM bid
GROUP BY ALL
