import { randomUUID } from 'node:crypto'
import { badRequest } from '../../platform/errors.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import { assertStorable } from '../../platform/values/text.ts'
import { parseWho, type WhoDraft } from '../../rights/service.ts'
import type { StoredTransport } from '../model.ts'
import type { TransportInput } from '../schema.ts'
import { checkOptions, mergedOptions, type Options } from './options.ts'

/** A transport as sent, with the parts kept from the stored one; its recipients are not resolved yet. */
export interface TransportDraft extends Omit<StoredTransport, 'email'> {
  readonly message: string | null
  readonly recipients: readonly WhoDraft[]
}

const about = (uuid: string): string => `export transport ${uuid}`
const mostBytes = 50_000

/** @throws {AppError} `ServerGeneric` naming the place of the error */
export async function draftTransports(
  seal: Pick<Seal, 'seal' | 'open'>,
  sent: readonly TransportInput[],
  stored: readonly StoredTransport[],
  checkPlugin: (plugin: string, path: string) => void,
): Promise<TransportDraft[]> {
  const drafts: TransportDraft[] = []
  const taken = new Set<string>()
  for (const [index, transport] of sent.entries()) {
    const path = `_transports[${index}]`
    assertStorable(transport, path)
    const { plugin, options: given = {}, email } = transport
    const before = stored.find(({ uuid }) => uuid === transport.uuid && !taken.has(uuid))
    const uuid = before?.uuid ?? randomUUID()
    taken.add(uuid)
    // Another plugin is another target: secrets entered for one plugin are not passed to another.
    const known = before && before.plugin === (plugin ?? '') ? await openedOptions(seal, before) : null
    const options = mergedOptions(given, known, `${path}.options`)
    if (JSON.stringify(options).length > mostBytes) {
      throw badRequest(`${path}.options is longer than ${mostBytes} bytes`, { path: `${path}.options` })
    }
    if (plugin) checkPlugin(plugin, `${path}.plugin`)
    else checkOptions(options, `${path}.options`)
    const recipients = (email?.recipients ?? []).map((who, at) => parseWho(who, `${path}.email.recipients[${at}]`))
    if (!plugin && options.type === 'email' && recipients.length === 0) {
      throw badRequest(`${path}.email.recipients must be given`, { path: `${path}.email.recipients` })
    }
    const sealed = (await seal.seal(Buffer.from(JSON.stringify(options)), about(uuid))).toString('base64url')
    drafts.push({ uuid, plugin: plugin ?? '', sealed, message: email ? (email.message ?? '') : null, recipients })
  }
  return drafts
}

/** Null: none of the keys here can open them. */
export async function openedOptions(
  seal: Pick<Seal, 'open'>,
  { uuid, sealed }: Pick<StoredTransport, 'uuid' | 'sealed'>,
): Promise<Options | null> {
  const text = await seal.open(Buffer.from(sealed, 'base64url'), about(uuid))
  return text === null ? null : (JSON.parse(text.toString()) as Options)
}
