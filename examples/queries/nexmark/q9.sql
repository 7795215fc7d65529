SELECT A.id AS auction, A.seller, A.category, B.bidder, B.price, B.extra,
    A.expires AS "end"
FROM auction A
JOIN bid B ON A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
QUALIFY row_number() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.dateTime, B.rowid) = 1
