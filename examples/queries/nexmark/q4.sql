WITH winning AS (
    SELECT A.category, max(B.price) AS price, A.expires
    FROM auction A
    JOIN bid B ON A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
    GROUP BY A.id, A.category, A.expires
)
SELECT category, expires AS "end", avg(price) OVER (
    PARTITION BY category ORDER BY expires RANGE UNBOUNDED PRECEDING
) AS mean
FROM winning
