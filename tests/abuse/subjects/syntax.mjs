export default { this is no JavaScript
