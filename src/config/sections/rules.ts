import { isMailbox } from '../../platform/values/mailbox.ts'
import { patternBudget } from '../../platform/values/patterns.ts'

/* Rules for texts of the base configuration; null if they fit, else what is expected. */

export function languageRule(tag: string): string | null {
  try {
    return Intl.getCanonicalLocales(tag)[0] === tag ? null : `written as ${Intl.getCanonicalLocales(tag)[0]}`
  } catch {
    return 'a language tag (BCP 47) such as en-US'
  }
}

export function colourRule(colour: string): string | null {
  return /^#[0-9a-f]{6}$/i.test(colour) ? null : 'a colour such as #1f5fae'
}

/** A picture that a page embeds: browsers run no scripts in pictures. */
export function logoRule(address: string): string | null {
  const picture = /^data:image\/(png|jpeg|webp|gif|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$/
  return picture.test(address) ? null : 'a picture such as data:image/png;base64,… of 40 KB at most'
}

export function emailRule(address: string): string | null {
  return isMailbox(address) ? null : 'an email address, without a name'
}

export function urlRule(url: string): string | null {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) ? null : 'an absolute http or https URL'
}

export function hostAndPortRule(address: string): string | null {
  const port = Number(/^[^\s/:]+:(\d{1,5})$/.exec(address)?.[1])
  return port >= 1 && port <= 65_535 ? null : 'host:port'
}

export function regexpRule(source: string): string | null {
  try {
    patternBudget().compile(source)
    return null
  } catch {
    return 'a regular expression (RE2: no look-ahead, no back references) of a moderate size'
  }
}
