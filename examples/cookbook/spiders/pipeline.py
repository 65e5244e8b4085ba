import sqlite3

import scrapy
from scrapy.exceptions import DropItem


class CheckedPipeline:
    def open_spider(self, spider):
        self.database = sqlite3.connect("shop.sqlite")
        self.database.execute("CREATE TABLE IF NOT EXISTS product (sku TEXT PRIMARY KEY, price REAL)")

    def process_item(self, item, spider):
        if item["price"] is None:
            raise DropItem("no price")
        item["price"] = float(item["price"].replace(",", "."))
        self.database.execute("REPLACE INTO product VALUES (?, ?)", (item["sku"], item["price"]))
        return item

    def close_spider(self, spider):
        self.database.commit()
        self.database.close()


class PipelineSpider(scrapy.Spider):
    name = "pipeline"
    start_urls = ["http://127.0.0.1:8000/checked/"]
    custom_settings = {"ITEM_PIPELINES": {CheckedPipeline: 1}}

    def parse(self, response):
        for row in response.css("tr"):
            yield {
                "sku": row.css(".sku::text").get(),
                "price": row.css(".price::text").re_first(r"[\d,]+"),
            }
        yield from response.follow_all(css="li.next a")
