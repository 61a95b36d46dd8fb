/** A standard is copied into every object that links here, so its geometries stay small. */
const maxVertices = 500

/**
 * The geometry for `_standard`: unchanged while it is small, else thinned out evenly. The first and last vertex of each line stay,
 * so rings stay closed. A geometry that is still too large (very many small parts) is replaced by its bounding box. The field
 * itself always keeps every vertex.
 */
export function simplifyGeometry(geometry: unknown): unknown {
  const vertices = countVertices(geometry)
  if (vertices <= maxVertices) return geometry
  const thinned = thin(geometry, Math.ceil(vertices / maxVertices))
  return countVertices(thinned) <= 2 * maxVertices ? thinned : boundingBox(geometry)
}

function boundingBox(geometry: unknown): unknown {
  const box = { west: Number.POSITIVE_INFINITY, south: Number.POSITIVE_INFINITY, east: -180, north: -90 }
  const visit = (value: unknown): void => {
    if (isPosition(value)) {
      const [longitude, latitude] = value as [number, number]
      box.west = Math.min(box.west, longitude)
      box.east = Math.max(box.east, longitude)
      box.south = Math.min(box.south, latitude)
      box.north = Math.max(box.north, latitude)
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, member] of Object.entries(value)) if (key !== 'properties') visit(member)
    }
  }
  visit(geometry)
  const { west, south, east, north } = box
  const ring = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ]
  return { type: 'Polygon', coordinates: [ring] }
}

function isPosition(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === 'number'
}

function countVertices(value: unknown): number {
  if (isPosition(value)) return 1
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  for (const [key, member] of Object.entries(value)) if (key !== 'properties') count += countVertices(member)
  return count
}

/** Rings need four positions (RFC 7946), so lists of up to four are left alone. */
function thin(value: unknown, every: number): unknown {
  if (Array.isArray(value)) {
    if (!isPosition(value[0])) return value.map((member) => thin(member, every))
    if (value.length <= 4) return value
    const step = Math.min(every, Math.floor((value.length - 1) / 3))
    return value.filter((_position, index) => index === value.length - 1 || index % step === 0)
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, key === 'properties' ? member : thin(member, every)]),
  )
}
