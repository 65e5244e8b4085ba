import { Component } from "@angular/core";
import { RouterLink } from "@angular/router";

@Component({
  imports: [RouterLink],
  template: `<main><h1>About us</h1><p>We sell by post.</p><a routerLink="/">Home</a></main>`,
})
export class About {
  constructor() {
    document.title = "About us";
  }
}
