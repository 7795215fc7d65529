SELECT bidder, auction, price, extra, dateTime AS "end"
FROM bid
QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC, rowid DESC) = 1
