import { Component, inject, signal } from "@angular/core";
import { provideZonelessChangeDetection } from "@angular/core";
import { bootstrapApplication } from "@angular/platform-browser";
import { ActivatedRoute, type RouterFeatures, RouterLink, RouterOutlet, provideRouter } from "@angular/router";
import { combineLatest } from "rxjs";

abstract class Page {
  data = signal<any>(null);
  protected abstract name(path: any, query: any): string;

  constructor() {
    const route = inject(ActivatedRoute);
    combineLatest([route.params, route.queryParams]).subscribe(async ([path, query]) => {
      const answer = await fetch(new URL(`data/${this.name(path, query)}.json`, document.baseURI));
      const found = await answer.json();
      document.title = found.name;
      this.data.set(found);
    });
  }
}

@Component({
  imports: [RouterLink],
  template: `@if (data(); as home) {
    <main>
      <h1>{{ home.name }}</h1>
      <ul>@for (one of home.categories; track one.slug) { <li><a [routerLink]="['/c', one.slug]">{{ one.name }}</a></li> }</ul>
      <a routerLink="/about">About</a>
    </main>
  } @else { <p>Loading…</p> }`,
})
class Home extends Page {
  protected name() {
    return "home";
  }
}

@Component({
  imports: [RouterLink],
  template: `@if (data(); as list) {
    <main>
      <h1>{{ list.name }}</h1>
      <ul>@for (one of list.products; track one.sku) { <li><a [routerLink]="['/p', one.sku]">{{ one.name }}</a></li> }</ul>
      @if (list.next) { <a rel="next" [routerLink]="[]" [queryParams]="{ page: list.next }">Next</a> }
      <a routerLink="/">Home</a>
    </main>
  } @else { <p>Loading…</p> }`,
})
class Category extends Page {
  protected name(path: any, query: any) {
    return `c-${path.slug}-${query.page ?? 1}`;
  }
}

@Component({
  imports: [RouterLink],
  template: `@if (data(); as product) {
    <main>
      <h1>{{ product.name }}</h1>
      <p class="price">{{ product.price }}</p>
      <p class="sku">{{ product.sku }}</p>
      <p class="description">{{ product.description }}</p>
      <a class="related" [routerLink]="['/p', product.related]">Goes with it</a>
      <a [routerLink]="['/c', product.category]">Back</a>
    </main>
  } @else { <p>Loading…</p> }`,
})
class Product extends Page {
  protected name(path: any) {
    return `p-${path.sku}`;
  }
}

@Component({ selector: "app-shop", imports: [RouterOutlet], template: "<router-outlet />" })
class Shop {}

export function start(...routing: RouterFeatures[]) {
  const routes = [
    { path: "", component: Home },
    { path: "c/:slug", component: Category },
    { path: "p/:sku", component: Product },
    { path: "about", loadComponent: () => import("./about").then((found) => found.About) },
  ];
  bootstrapApplication(Shop, { providers: [provideZonelessChangeDetection(), provideRouter(routes, ...routing)] });
}
