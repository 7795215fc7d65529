WITH winning AS (
    SELECT A.id, A.seller, max(B.price) AS price, A.expires
    FROM auction A
    JOIN bid B ON A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
    GROUP BY A.id, A.seller, A.expires
)
SELECT seller, expires AS "end", avg(price) OVER (
    PARTITION BY seller ORDER BY expires, id ROWS 10 PRECEDING
) AS mean
FROM winning
