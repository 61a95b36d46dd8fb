import { html } from 'ghtml'
import type { Settings } from './schema.ts'

const style = `
  body { font: 16px/1.6 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1.2rem; color: #1c2430; background: #fff }
  h1 { font-size: 1.8rem; margin-bottom: 0 } .muted { color: #5b6675 } a { color: #1f5fae }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem } dt { color: #5b6675 } dd { margin: 0 }
  @media (prefers-color-scheme: dark) {
    body { background: #14181f; color: #dde3ec } a { color: #7db4f5 } .muted, dt { color: #9aa6b6 }
  }
`

export interface HomeState {
  settings: Pick<Settings, 'name' | 'version' | 'startup_time' | 'capabilities'>
  /** Whether the database answers. */
  ready: boolean
  /** Whether a caller without a user may read the description of the interface. */
  openApi: boolean
}

/** What a person finds who opens the address of the service in a browser: what runs here and where to go on. */
export function renderHomePage({ settings, ready, openApi }: HomeState): string {
  const { name, version, startup_time, capabilities } = settings
  const state = !ready ? 'The database does not answer.' : capabilities.read_only ? 'Runs, read-only.' : 'Runs.'
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${name}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>${style}</style></head>
<body>
<main>
<h1>${name}</h1>
<p class="muted">Strongroom ${version}</p>
<dl>
<dt>State</dt><dd>${state}</dd>
<dt>Since</dt><dd>${startup_time.slice(0, 16).replace('T', ' ')} UTC</dd>
</dl>
<p>This is a service for programs and front ends. Where to go on:</p>
<ul>
<li><a href="api/v1/system/openapi/">The interface</a>${openApi ? '' : ' (needs to be signed in)'}, every request with what it takes and answers</li>
<li><a href="api/v1/settings">Settings</a> that anybody may know, as JSON</li>
<li>The documentation: the folder <code>docs/</code> of the checkout, beginning with <code>README.md</code></li>
</ul>
</main>
</body>
</html>`
}
