SELECT auction, bidder, price, extra, dateTime AS "end"
FROM bid
