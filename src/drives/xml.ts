/** XML of WebDAV (RFC 4918, 14): requests of clients, and answers. */
import { badRequest } from '../platform/errors.ts'
import { escapeMarkup } from '../platform/values/markup.ts'
import { createXmlReader, XmlError } from '../platform/xml/reader.ts'

export const dav = 'DAV:'

export interface PropertyName {
  readonly namespace: string
  readonly name: string
}

/** The properties wanted by a PROPFIND: some, all, or only their names. */
export type PropfindRequest =
  | { readonly kind: 'all' }
  | { readonly kind: 'names' }
  | { readonly kind: 'some'; readonly names: readonly PropertyName[] }

/** Most names of one request. */
const mostNames = 200

/** @throws {AppError} where the body is not XML, or has another root */
export function readPropfind(body: string): PropfindRequest {
  if (body.trim() === '') return { kind: 'all' }
  const names: PropertyName[] = []
  let kind: PropfindRequest['kind'] = 'some'
  read(body, (steps) => {
    const [root, second, third] = steps
    if (!is(root, 'propfind')) throw notUnderstood('propfind')
    if (steps.length === 2 && is(second, 'allprop')) kind = 'all'
    if (steps.length === 2 && is(second, 'propname')) kind = 'names'
    if (steps.length === 3 && is(second, 'prop') && third) names.push(third)
    if (names.length > mostNames) throw badRequest(`PROPFIND asks for ${mostNames} properties at most.`, { header: '' })
  })
  return kind === 'some' ? { kind, names } : { kind }
}

/** Properties that a PROPPATCH names. */
export function readProppatch(body: string): readonly PropertyName[] {
  const names: PropertyName[] = []
  read(body, (steps) => {
    if (!is(steps[0], 'propertyupdate')) throw notUnderstood('propertyupdate')
    if (steps.length === 4 && is(steps[2], 'prop') && steps[3]) names.push(steps[3])
    if (names.length > mostNames) throw badRequest(`PROPPATCH names ${mostNames} properties at most.`, { header: '' })
  })
  return names
}

export interface LockInfo {
  readonly shared: boolean
  /** XML with which the client identifies itself. */
  readonly owner: string
}

/** Most characters of an owner that are kept. */
const longestOwner = 1000

export function readLockInfo(body: string): LockInfo {
  let [shared, write] = [false, false]
  let owner = ''
  read(
    body,
    (steps) => {
      if (!is(steps[0], 'lockinfo')) throw notUnderstood('lockinfo')
      if (is(steps.at(-1), 'shared')) shared = true
      if (is(steps.at(-1), 'write')) write = true
    },
    (steps, text) => {
      if (is(steps[1], 'owner')) owner = `${owner}${text}`.slice(0, longestOwner)
    },
  )
  if (!write) throw badRequest('There are write locks only.', { element: 'locktype' })
  return { shared, owner: owner.trim() }
}

const is = (element: PropertyName | undefined, name: string): boolean =>
  element?.namespace === dav && element.name === name

const notUnderstood = (name: string) =>
  badRequest(`The body must be the element ${name} of the namespace DAV:.`, { element: name })

/** Reads elements with their namespaces. */
function read(
  body: string,
  open: (steps: readonly PropertyName[]) => void,
  text: (steps: readonly PropertyName[], text: string) => void = () => {},
): void {
  const steps: PropertyName[] = []
  const scopes: ReadonlyMap<string, string>[] = [new Map([['xml', 'http://www.w3.org/XML/1998/namespace']])]
  const reader = createXmlReader({
    open(name, attributes) {
      const scope = withDeclarations(scopes.at(-1) as ReadonlyMap<string, string>, attributes)
      scopes.push(scope)
      steps.push(resolved(name, scope))
      open(steps)
    },
    close() {
      scopes.pop()
      steps.pop()
    },
    text: (piece) => text(steps, piece),
  })
  try {
    reader.write(body)
    reader.end()
  } catch (error) {
    if (error instanceof XmlError) throw badRequest(`The body is no XML: ${error.message}.`, {})
    throw error
  }
}

function withDeclarations(scope: ReadonlyMap<string, string>, attributes: Readonly<Record<string, string>>) {
  const declared = Object.entries(attributes).flatMap(([name, value]): [string, string][] => {
    if (name === 'xmlns') return [['', value]]
    return name.startsWith('xmlns:') ? [[name.slice(6), value]] : []
  })
  for (const [prefix, value] of declared) {
    // Namespaces in XML, 2: a declared prefix cannot be undeclared.
    if (prefix !== '' && value === '') throw badRequest(`The prefix ${prefix} has no namespace.`, {})
  }
  return declared.length === 0 ? scope : new Map([...scope, ...declared])
}

function resolved(name: string, scope: ReadonlyMap<string, string>): PropertyName {
  const colon = name.indexOf(':')
  const prefix = colon < 0 ? '' : name.slice(0, colon)
  const namespace = scope.get(prefix)
  if (namespace === undefined && prefix !== '') throw badRequest(`The prefix ${prefix} is not declared.`, {})
  return { namespace: namespace ?? '', name: name.slice(colon + 1) }
}

/** Text for XML, without characters that XML forbids. */
export function xmlText(text: string): string {
  const known = text.toWellFormed().replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
  return escapeMarkup(known)
}

/** An empty element of any namespace. */
export function emptyElement({ namespace, name }: PropertyName): string {
  if (namespace === dav) return `<D:${name}/>`
  return `<${name} xmlns="${xmlText(namespace)}"/>`
}

export const xmlHeader = '<?xml version="1.0" encoding="utf-8"?>\n'
