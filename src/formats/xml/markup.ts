/** XML as text. */

export type Attributes = Readonly<Record<string, string | number | undefined>>

/** The first line of documents. */
export const xmlHeader = '<?xml version="1.0" encoding="UTF-8"?>\n'

/** A tag of a language as schemas take it in `xml:lang`. */
export const isLanguageTag = (tag: string): boolean => /^[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*$/.test(tag)

const special: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#13;',
}

/** Characters that XML 1.0 forbids, even as references. */
const forbidden = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu

/** A text between tags, without characters that XML forbids. A parser gives back the rest unchanged. */
export const xmlText = (text: string): string =>
  text.replace(forbidden, '').replace(/[&<>\r]/g, (character) => special[character] as string)

const attributeText = (text: string): string =>
  xmlText(text).replace(/["\t\n]/g, (character) => special[character] ?? `&#${character.charCodeAt(0)};`)

export function attributesText(attributes: Attributes): string {
  let text = ''
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) text += ` ${name}="${attributeText(String(value))}"`
  }
  return text
}

/** An element; `content` is markup; `name` must be a valid XML name. */
export function element(name: string, content: string, attributes: Attributes = {}): string {
  const start = `<${name}${attributesText(attributes)}`
  return content === '' ? `${start}/>` : `${start}>${content}</${name}>`
}

export const textElement = (name: string, text: string | number | boolean, attributes?: Attributes): string =>
  element(name, xmlText(String(text)), attributes)

/** Empty for other values than texts, numbers and booleans. */
export const plainElement = (name: string, value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? textElement(name, value) : ''

/** A text for each language, in elements named by the language. */
export const localizedElement = (
  name: string,
  texts: Readonly<Record<string, string>>,
  attributes?: Attributes,
): string => element(name, languageElements(texts), attributes)

export function languageElements(texts: Readonly<Record<string, string>>): string {
  return Object.entries(texts)
    .map(([language, text]) => (isName(language) ? textElement(language, text) : ''))
    .join('')
}

/** Whether a text is an XML name without a prefix, with the characters of our names. */
export const isName = (text: string): boolean => /^[A-Za-z_][\w.-]*$/.test(text)

/** The nearest valid name: `_nested:artwork__contributor` becomes `_nested__artwork__contributor`. */
export function nameOf(text: string): string {
  const name = text.replaceAll(':', '__').replace(/[^\w.-]/g, '_')
  return /^[A-Za-z_]/.test(name) ? name : `_${name}`
}
