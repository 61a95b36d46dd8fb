import type { JsonLimits } from './json-reader.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** The limits of a request body. */
export interface BodyLimits extends JsonLimits {
  readonly bytes: number
}

interface DocumentedLimits extends BodyLimits {
  readonly doc: string
}

const texts = { depth: 100, keyBytes: 1000, stringBytes: MiB }

/** The size classes of bodies. A route names its class in `config.body`; the setting `bodyLimit` may lower them. */
export const bodyLimits = {
  none: { ...texts, bytes: 64 * KiB, values: 1000, doc: 'endpoints that read no body, and those of OAuth2' },
  one: { ...texts, bytes: MiB, values: 50_000, doc: 'one thing: an event, a search, a password' },
  many: {
    ...texts,
    bytes: 8 * MiB,
    values: 250_000,
    doc: 'lists and documents of administration: users, groups, pools, tags, transitions, settings, events, localised names',
  },
  mail: { ...texts, bytes: 16 * MiB, values: 1000, stringBytes: 15 * MiB, doc: 'one mail with what is attached' },
  datamodel: { ...texts, bytes: 16 * MiB, values: 1_000_000, doc: 'the datamodel and its masks' },
  objects: {
    ...texts,
    bytes: 1024 * MiB,
    values: 1_000_000,
    stringBytes: 16 * MiB,
    doc: 'objects to save or delete; bytes as `SVC_BODY_LIMIT` says',
  },
} as const satisfies Record<string, DocumentedLimits>

export type BodySize = keyof typeof bodyLimits

/** The limits of a size class, in bytes, capped by the general limit. */
export function limitsOf(size: BodySize, largest: number): BodyLimits {
  const { bytes, values, depth, keyBytes, stringBytes } = bodyLimits[size]
  return { bytes: Math.min(bytes, largest), values, depth, keyBytes, stringBytes }
}

/** The table of docs/operations.md. */
export function bodyLimitTable(): string {
  const rows = Object.values(bodyLimits).map(({ doc, bytes, values, depth, keyBytes, stringBytes }) => {
    const most = bytes === 1024 * MiB ? '`SVC_BODY_LIMIT`' : size(bytes)
    return `| ${doc.split(';')[0]} | ${most} | ${values.toLocaleString('en')} | ${depth} | ${keyBytes} | ${size(stringBytes)} |`
  })
  const head = '| Body of | Bytes | Values | Depth | Bytes of a key | Bytes of a text |\n|---|---|---|---|---|---|'
  return [head, ...rows].join('\n')
}

function size(bytes: number): string {
  return bytes >= MiB ? `${bytes / MiB} MiB` : `${bytes / KiB} KiB`
}
