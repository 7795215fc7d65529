SELECT auction, bidder, price, bid.dateTime AS "end", value
FROM bid JOIN side ON auction % 10000 = side.key
