WITH hopped AS (
    SELECT auction,
        time_bucket(INTERVAL 2 SECOND, dateTime) + hop * INTERVAL 2 SECOND AS ends
    FROM bid, range(1, 6) hops(hop)
), counted AS (
    SELECT auction, ends, count(*) AS num FROM hopped GROUP BY auction, ends
)
SELECT * FROM counted
QUALIFY num = max(num) OVER (PARTITION BY ends)
