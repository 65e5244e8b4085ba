"""A DAG that crawls each night. The connection `gossamer_default` names the server (docs/doors.md)."""

from datetime import datetime, timedelta

from airflow.sdk import DAG

from gossamer.airflow import GossamerCrawlOperator

with DAG(
    "nightly_books",
    schedule="17 3 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,  # a run that takes longer than a day delays the next one
) as dag:
    GossamerCrawlOperator(
        task_id="crawl",
        targets=["https://books.toscrape.com/"],
        options={"limit": 100, "fail_on": ["success<0.95"]},
        retries=2,
        retry_delay=timedelta(minutes=10),
    )
