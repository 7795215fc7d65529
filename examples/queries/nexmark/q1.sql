SELECT auction, bidder, 0.908::DOUBLE * price AS price, extra, dateTime AS "end"
FROM bid
