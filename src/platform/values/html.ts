import { Html } from './trusted-html.ts'

export type { Html } from './trusted-html.ts'

/** Texts are escaped, finished HTML is inserted as it is. */
export type HtmlValue = string | number | Html | readonly Html[]

/** Markup with values in it: within elements and within attributes in quotes. */
export function html({ raw }: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = raw[0] as string
  for (const [index, value] of values.entries()) text += `${shown(value)}${raw[index + 1]}`
  return new Html(text)
}

/** Concatenates the parts. */
export const joined = (parts: readonly Html[]): Html => new Html(parts.join(''))

export const nothing: Html = new Html('')

function shown(value: HtmlValue): string {
  if (value instanceof Html) return value.toString()
  return typeof value === 'object' ? value.join('') : escaped(String(value))
}

const special = /["&'<=>]/g

function escaped(text: string): string {
  return text.replace(special, (character) => `&#${character.charCodeAt(0)};`)
}
