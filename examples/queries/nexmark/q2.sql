SELECT auction, price, dateTime AS "end"
FROM bid
WHERE auction % 123 = 0
