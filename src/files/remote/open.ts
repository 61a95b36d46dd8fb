import type { Pace } from '../../platform/limits/pace.ts'
import { type AddressRules, RefusedAddress } from '../../platform/outgoing/addresses.ts'
import { type Download, openDownload } from '../../platform/outgoing/download.ts'

/** Requests a content at an address on the web. */
export type OpenRemote = (url: string, headers?: Readonly<Record<string, string>>) => Promise<Download>

/** Milliseconds until an answer begins. */
const patience = 30_000
/** Milliseconds for the whole download: 5 GB in a day are 60 kB a second. */
const most = 86_400_000

export function remoteOpener({ rules, pace }: { rules: AddressRules; pace: Pace }): OpenRemote {
  return (url, headers = {}) => openDownload({ url, headers, rules, patience, most, pace })
}

/** The reason for a failed download, for the caller. It reveals nothing of the service's own network. */
export function fetchFailure(error: unknown): string {
  if (error instanceof RefusedAddress) return 'the address is not allowed'
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}
