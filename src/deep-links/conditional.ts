/** Whether the caller has what a tag names: `If-None-Match`, of which weak tags count as well (RFC 9110, section 13.1.2). */
export function isKnown(ifNoneMatch: string | undefined, tag: string): boolean {
  const plain = tag.replace(/^W\//, '')
  return ifNoneMatch?.split(',').some((one) => ['*', plain, `W/${plain}`].includes(one.trim())) === true
}
