SELECT auction, bidder, price, extra, dateTime AS "end",
    row_number() OVER (PARTITION BY auction ORDER BY price DESC, dateTime, rowid) AS rank
FROM bid
QUALIFY rank <= 10
