WITH started AS (
    SELECT *, coalesce(dateTime - lag(dateTime) OVER user > INTERVAL 10 SECOND, true) AS first
    FROM bid WINDOW user AS (PARTITION BY bidder ORDER BY dateTime)
), numbered AS (
    SELECT *, count_if(first) OVER (PARTITION BY bidder ORDER BY dateTime) AS session
    FROM started
)
SELECT bidder, count(*) AS bids, min(dateTime) AS starts,
    max(dateTime) + INTERVAL 10 SECOND AS ends
FROM numbered
GROUP BY bidder, session
