import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { html } from '../../../platform/values/html.ts'
import { Html } from '../../../platform/values/trusted-html.ts'
import { button } from '../../pages/fields.ts'
import type { Visit } from '../../pages/service.ts'

const script = readFileSync(new URL('./passkey.client.js', import.meta.url), 'utf8')

/** The script in the form for the content security policy of a page with such a form. */
export const passkeyScript = `'sha256-${createHash('sha256').update(script).digest('base64')}'`

export interface PasskeyForm {
  readonly action: string
  readonly act: 'create' | 'get'
  /** The options that the browser passes to the device. */
  readonly options: object
  readonly label: string
  /** Additional content above the button. */
  readonly fields?: Html
  readonly hidden: Readonly<Record<string, string>>
  /** There is an explanation above the form: it also serves browsers without JavaScript. */
  readonly told: boolean
}

/** A form that is sent with the answer of a device, in `passkey`. It needs a script: only scripts can speak to devices. */
export function passkeyForm({ text, form }: Visit, asked: PasskeyForm): Html {
  const { action, act, options, label, fields = '', hidden, told } = asked
  const without = told ? '' : html`<noscript><p class="problem">${text('passkey.noScript')}</p></noscript>`
  const content = html`${fields}<div id="passkey" data-act="${act}" data-options="${JSON.stringify(options)}" data-failed="${text('passkey.failed')}" data-unsupported="${text('passkey.unsupported')}"></div>
<input type="hidden" name="passkey" value="">
<p class="problem" id="passkey-problem" role="alert" hidden></p>
${without}
${button(label)}`
  return html`${form(action, content, hidden)}<script>${new Html(script)}</script>`
}
