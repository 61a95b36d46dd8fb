import type { Pace } from '../../platform/limits/pace.ts'
import { type AddressRules, RefusedAddress } from '../../platform/outgoing/addresses.ts'
import { type Download, openDownload } from '../../platform/outgoing/download.ts'

/** Asks for what lies at an address on the web. */
export type OpenRemote = (url: string, headers?: Readonly<Record<string, string>>) => Promise<Download>

/** Until an answer begins. */
const patience = 30_000
/** For everything: 5 GB in a day are 60 kB a second. */
const most = 86_400_000

export function remoteOpener({ rules, pace }: { rules: AddressRules; pace: Pace }): OpenRemote {
  return (url, headers = {}) => openDownload({ url, headers, rules, patience, most, pace })
}

/** What callers are told of a fetch that failed: nothing of what addresses names have in the service's own network. */
export function fetchFailure(error: unknown): string {
  if (error instanceof RefusedAddress) return 'the address is not allowed'
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}
