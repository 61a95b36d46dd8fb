const [begin, end] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----']

/** The certificates in a text of the form PEM, each with its lines for beginning and end. */
export function certificateTexts(pem: string): string[] {
  return pem
    .split(begin)
    .slice(1)
    .flatMap((part) => {
      const close = part.indexOf(end)
      const content = part.slice(0, Math.max(close, 0))
      return /^[\sA-Za-z0-9+/=]+$/.test(content) ? [begin + content + end] : []
    })
}
