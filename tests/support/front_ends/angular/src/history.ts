import { start } from "./shop";

start();
