/** Addresses that lead to objects and their files without a search; what is behind them is `deep-links`. */

export const deepLinkPath = '/api/v1/objects'

export function deepLink(externalUrl: string, uuid: string): string {
  return `${externalUrl}${deepLinkPath}/uuid/${encodeURIComponent(uuid)}`
}

/** The address of a version of a file that an object has. */
export function fileDeepLink(externalUrl: string, uuid: string, file: number, version: string): string {
  return `${deepLink(externalUrl, uuid)}/file/id/${file}/file_version/name/${encodeURIComponent(version)}`
}
