import { html } from '../../platform/values/html.ts'
import type { Visit } from '../../signin/service.ts'
import type { Settings } from '../schema.ts'

export interface HomeState {
  settings: Pick<Settings, 'name' | 'version' | 'startup_time' | 'capabilities'>
  /** Whether the database answers. */
  ready: boolean
  /** Whether a caller without a user may read the description of the interface. */
  openApi: boolean
}

/** The home page of the service: its state, with links to sign-in, documentation and interface. */
export function homePage({ text, link }: Visit, { settings, ready, openApi }: HomeState) {
  const { name, version, startup_time, capabilities } = settings
  const state = !ready ? 'home.down' : capabilities.read_only ? 'home.readOnly' : 'home.runs'
  const since = `${startup_time.slice(0, 16).replace('T', ' ')} UTC`
  const entry = (address: string, name: Parameters<typeof text>[0], about: Parameters<typeof text>[0]) =>
    html`<li><a href="${link(address)}">${text(name)}</a>: ${text(about)}</li>`
  const content = html`<p>${text(state)}</p>
<p class="muted">${name}, Strongroom ${version}, ${text('home.since', { time: since })}</p>
<ul>
${entry('/api/page/security', 'home.account', 'home.accountIs')}
${entry('/docs/', 'home.docs', 'home.docsAre')}
${entry('/api/v1/system/openapi/', 'home.interface', openApi ? 'home.interfaceIs' : 'home.interfaceIsClosed')}
${entry('/api/v1/settings', 'home.settings', 'home.settingsAre')}
</ul>`
  return { title: text('home.title'), content }
}

/** The page of `/health`. */
export function healthPage({ text }: Visit, ready: boolean) {
  const content = html`<p>${text(ready ? 'home.runs' : 'home.down')}</p>`
  return { title: text('health.title'), content, status: ready ? 200 : 503 }
}
