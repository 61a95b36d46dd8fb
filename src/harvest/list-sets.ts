import { element, textElement } from '../formats/service.ts'
import type { Actor } from '../platform/actor.ts'
import { noRecords, ProtocolError } from './protocol-error.ts'
import type { HarvestRequest } from './request.ts'
import { resumptionElement } from './resumption.ts'
import type { SetService } from './sets.ts'
import type { Tokens } from './tokens.ts'

export interface SetListDeps {
  readonly sets: Pick<SetService, 'list'>
  readonly tokens: Tokens
}

/** Sets of an answer where a harvester does not say. */
const setsOfPage = 1000

/** The answer to `ListSets`. @throws {ProtocolError} `badResumptionToken`, `noRecordsMatch` */
export async function listSets(
  { sets, tokens }: SetListDeps,
  actor: Actor,
  { given, limit, offset }: HarvestRequest,
): Promise<string> {
  const resumed = given.resumptionToken === undefined ? null : await tokens.read(given.resumptionToken, 'ListSets')
  const all = await sets.list(actor)
  const from = resumed ? all.findIndex(({ spec }) => spec > `${resumed.behind}`) : offset
  const rest = from < 0 ? [] : all.slice(from)
  const size = resumed?.limit ?? limit ?? setsOfPage
  const page = rest.slice(0, size)
  const last = page.at(-1)
  if (!last) throw resumed ? new ProtocolError('badResumptionToken', 'There are no more sets.') : noRecords()
  const next = { verb: 'ListSets', limit: size, behind: last.spec, cursor: from + page.length, total: all.length }
  const progress = { cursor: from, total: all.length, resumed }
  const token = await resumptionElement(tokens, rest.length > size ? next : null, progress)
  const elements = page.map(({ spec, name }) =>
    element('set', textElement('setSpec', spec) + textElement('setName', name)),
  )
  return element('ListSets', elements.join('') + token)
}
