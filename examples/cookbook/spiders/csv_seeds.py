import csv

import scrapy


class CsvSeedsSpider(scrapy.Spider):
    name = "csv_seeds"

    async def start(self):
        with open("urls.csv", newline="") as file:
            for row in csv.DictReader(file):
                yield scrapy.Request(row["url"], cb_kwargs={"shelf": row["shelf"]})

    def parse(self, response, shelf):
        yield {
            "name": response.css("h1::text").get(),
            "shelf": shelf,
            "price": float(response.css(".price::text").re_first(r"[\d.]+")),
        }
