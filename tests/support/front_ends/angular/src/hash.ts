import { withHashLocation } from "@angular/router";
import { start } from "./shop";

start(withHashLocation());
