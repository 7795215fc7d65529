SELECT B.auction, B.bidder, B.price, A.itemName AS item, A.seller, B.dateTime AS "end"
FROM bid B JOIN auction A ON B.auction = A.id
WHERE A.category = 10
