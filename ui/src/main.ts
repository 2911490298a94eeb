import { bootstrapApplication } from '@angular/platform-browser';

import { App } from './app/app';
import { appConfig } from './app/app.config';
import { applyTheme, storedTheme } from './app/core/theme';

// Before the first paint, so that nothing flashes.
applyTheme(storedTheme());
bootstrapApplication(App, appConfig).catch((failure: unknown) => console.error(failure));
