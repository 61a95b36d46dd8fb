/** Identifiers of records: `oai:<namespace>:<uuid>`, without a namespace `oai:<uuid>`. */
const prefixOf = (namespace: string): string => (namespace === '' ? 'oai:' : `oai:${namespace}:`)

export const identifierOf = (namespace: string, uuid: string): string => prefixOf(namespace) + uuid

/** null: it is none of this repository. */
export function uuidOf(namespace: string, identifier: string): string | null {
  const prefix = prefixOf(namespace)
  return identifier.startsWith(prefix) && identifier.length > prefix.length ? identifier.slice(prefix.length) : null
}
