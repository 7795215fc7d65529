SELECT auction, bidder, price, extra, strftime(dateTime, '%Y%m%d')::BIGINT AS day,
    strftime(dateTime, '%H%M')::BIGINT AS minute, dateTime AS "end"
FROM bid
