// The Colly crawler of benchmarks/cost.py. It follows all links of one host, and writes URL, title, status and number of links.
package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"sync"

	"github.com/gocolly/colly/v2"
)

type page struct {
	URL    string `json:"url"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Links  int    `json:"links"`
}

func main() {
	start := os.Args[1]
	u, _ := url.Parse(start)
	out, _ := os.Create(os.Args[2])
	w := bufio.NewWriter(out)
	var lock sync.Mutex
	// Colly also checks whether a URL is known, but its check takes half of the CPU time of the program, and lets a
	// page be fetched twice if two pages with a link to it are parsed at the same time.
	var seen sync.Map
	seen.Store(start, true)
	c := colly.NewCollector(colly.Async(true), colly.AllowedDomains(u.Hostname(), u.Host), colly.MaxDepth(0))
	c.WithTransport(&http.Transport{MaxIdleConnsPerHost: 64})
	c.IgnoreRobotsTxt = true
	c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 64})
	c.OnHTML("html", func(e *colly.HTMLElement) {
		links := e.ChildAttrs("a[href]", "href")
		row, _ := json.Marshal(page{e.Request.URL.String(), e.ChildText("title"), e.Response.StatusCode, len(links)})
		lock.Lock()
		w.Write(append(row, '\n'))
		lock.Unlock()
		for _, link := range links {
			to, err := e.Request.URL.Parse(link)
			if err != nil || to.Host != u.Host {
				continue
			}
			to.Fragment = "" // otherwise Colly fetches a page once per fragment
			if _, known := seen.LoadOrStore(to.String(), true); !known {
				c.Visit(to.String())
			}
		}
	})
	c.Visit(start)
	c.Wait()
	w.Flush()
}
