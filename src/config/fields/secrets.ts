import { LockedSecret, type Secret } from '../../platform/secrets/sealed-texts.ts'
import { masked, scrubAddress } from '../../platform/secrets/secrets.ts'
import { isRecord } from '../../platform/values/records.ts'
import { type Field, wrong } from './field.ts'
import { type TextOptions, text } from './values.ts'

/**
 * A text that is never returned, and stored sealed. Clients see `***` if there is one. `***`, `true` or an absent value keeps it, a
 * text replaces it, and `""`, `"-"`, `false` or `null` remove it. `***` is refused if there is none to keep: otherwise the document
 * of another instance, or a row with a new name, would silently lose its secret.
 */
export function secret(rule?: (text: string) => string | null, maxLength = 1000): Field<Secret> {
  return { ...hashed(rule, maxLength), hide: (text) => (text === '' ? null : masked) } as Field<Secret>
}

/** The same for hashes, which cannot be turned back into a secret, so a reader of the database cannot use them. */
export function hashed(rule?: (text: string) => string | null, maxLength = 1000): Field<string> {
  const inner = text('', { maxLength, ...(rule ? { rule } : {}) })
  return {
    type: 'secret',
    default: '',
    more: {},
    check: (wire, path, stored) => {
      if (wire instanceof LockedSecret) return wire
      if (keepsSecret(wire)) {
        if (stored instanceof LockedSecret) return stored
        if (typeof stored === 'string' && (stored !== '' || wire === undefined)) return stored
        if (wire === undefined) return ''
        throw wrong(path, 'the secret itself: none is stored that could be kept')
      }
      if (wire === false || wire === null || wire === '-') return ''
      return inner.check(wire, path, stored)
    },
    read: (wire) => (typeof wire === 'string' || wire instanceof LockedSecret ? wire : '') as string,
    show: (wire) => (wire instanceof LockedSecret || (typeof wire === 'string' && wire !== '') ? masked : ''),
  }
}

/**
 * An address. Its credentials (`user:password@`) and secret parameters are shown as `***`; an address that is sent as it was shown
 * is the stored one. It is stored sealed if it contains such parts.
 */
export function address(options: TextOptions): Field<Secret> {
  const inner = text('', options)
  const hide = (url: string): string | null => {
    const shown = scrubAddress(url)
    return shown === url ? null : shown
  }
  const show = (wire: unknown): unknown =>
    wire instanceof LockedSecret ? wire.shown : ((typeof wire === 'string' ? hide(wire) : null) ?? wire)
  return {
    ...inner,
    hide,
    check: (wire, path, stored) => {
      if (wire instanceof LockedSecret) return wire
      const kept = inner.check(wire, path, stored)
      if (wire !== stored && show(stored) === wire) return stored
      if (String(wire).includes(masked)) throw wrong(path, 'the whole address: none is stored that is shown like this')
      return kept
    },
    read: (wire) => wire as Secret,
    show,
  }
}

export function keepsSecret(wire: unknown): boolean {
  return wire === undefined || wire === true || wire === masked
}

/**
 * The stored value of a field as a client would send it: secrets are kept. Tables are not converted, because their rows are checked
 * against the stored ones.
 */
export function asSent(field: Field<unknown>, stored: unknown): unknown {
  if (field.type === 'secret') return stored ? masked : stored
  if (!field.members || !isRecord(stored)) return stored
  const { members } = field
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [name, members[name] ? asSent(members[name], value) : value]),
  )
}
