SELECT DISTINCT P.id AS seller, P.name, time_bucket(INTERVAL 10 SECOND, P.dateTime) AS time
FROM person P JOIN auction A ON P.id = A.seller
WHERE time_bucket(INTERVAL 10 SECOND, P.dateTime)
    = time_bucket(INTERVAL 10 SECOND, A.dateTime)
