import os

import scrapy


class LoginSpider(scrapy.Spider):
    name = "login"
    start_urls = ["http://127.0.0.1:8000/members/login"]

    def parse(self, response):
        yield scrapy.FormRequest.from_response(
            response,
            formdata={"user": "reader", "password": os.environ["PASSWORD"]},
            callback=self.parse_members,
        )

    def parse_members(self, response):
        if not response.css("a[href='/members/logout']"):
            self.logger.error("log-in failed")
            return
        for row in response.css("li.row::text").getall():
            yield {"row": row}
        yield from response.follow_all(css="li.next a", callback=self.parse_members)
