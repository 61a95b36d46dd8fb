import { type Html, html, joined } from '../../platform/values/html.ts'

export interface FieldOptions {
  /** Name in the form and id in the page. */
  name: string
  label: string
  type?: 'text' | 'password' | 'email' | 'number' | 'tel'
  value?: string
  /** The value for browsers and password managers (HTML, autofill). */
  autocomplete: string
  placeholder?: string
  hint?: string
  /** The problem with this field. */
  problem?: string | null
  /** The value is wrong; the text is at the top of the page (`problem` of the layout). */
  invalid?: boolean
  required?: boolean
  autofocus?: boolean
  inputmode?: 'numeric' | 'text' | 'email'
  maxLength?: number
}

/** A labelled field; problem and hint are tied to it, so that screen readers read them out. */
export function field(options: FieldOptions): Html {
  const { name, label, type = 'text', value = '', hint, problem, required = true, maxLength = 500 } = options
  const described = [
    ...(hint ? [`${name}-hint`] : []),
    ...(problem ? [`${name}-problem`] : []),
    ...(options.invalid ? ['problem'] : []),
  ].join(' ')
  const plain = type === 'password' || type === 'email' || options.autocomplete === 'username'
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${value}" maxlength="${maxLength}" autocomplete="${options.autocomplete}"${options.placeholder ? html` placeholder="${options.placeholder}"` : ''}${options.inputmode ? html` inputmode="${options.inputmode}"` : ''}${plain ? html` autocapitalize="none" spellcheck="false"` : ''}${required ? ' required' : ''}${options.autofocus ? ' autofocus' : ''}${problem || options.invalid ? html` aria-invalid="true"` : ''}${described ? html` aria-describedby="${described}"` : ''}>
${hint ? html`<p class="hint" id="${name}-hint">${hint}</p>` : ''}${problem ? html`<p class="bad" id="${name}-problem">${problem}</p>` : ''}
</div>`
}

/** A checkbox; when it is checked, the form has `1` under its name. */
export function checkbox(name: string, label: string, { checked = false, required = false } = {}): Html {
  return html`<div class="check"><input id="${name}" name="${name}" type="checkbox" value="1"${checked ? ' checked' : ''}${required ? ' required' : ''}><label for="${name}">${label}</label></div>`
}

/** Hidden values of a form; empty ones are left out. */
export function hiddenFields(values: Readonly<Record<string, string | undefined>>): Html {
  const given = Object.entries(values).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return joined(given.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`))
}

export function button(text: string, { second = false } = {}): Html {
  return second ? html`<button class="second">${text}</button>` : html`<button>${text}</button>`
}
