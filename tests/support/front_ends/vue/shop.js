import { createApp, h } from "vue";
import { RouterView, createRouter, createWebHashHistory, createWebHistory } from "vue-router";
import Category from "./Category.vue";
import Home from "./Home.vue";
import Product from "./Product.vue";

const history = HASH ? createWebHashHistory(import.meta.env.BASE_URL) : createWebHistory(import.meta.env.BASE_URL);
const routes = [
  { path: "/", component: Home },
  { path: "/c/:slug", component: Category },
  { path: "/p/:sku", component: Product },
  { path: "/about", component: () => import("./About.vue") },
];
createApp({ render: () => h(RouterView) }).use(createRouter({ history, routes })).mount("#shop");
